// Helpers that every walkthrough uses: clients, calls, output and checks.
// BARID_URL and BARID_KEY choose the stack; without them it is the one that `npm start` runs in this folder.
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { isDeepStrictEqual } from "node:util";
import { createClient } from "@supabase/supabase-js";
import WebSocket from "ws";

export const { url, key } = connection();
export const demoPassword = "Barid-demo-1";

/** A supabase-js client that is not signed in. */
export function anonymousClient() {
  return createClient(url, key, {
    auth: { persistSession: false, autoRefreshToken: false },
    realtime: { transport: WebSocket },
  });
}

/** Registers a user, confirms the address with the code from the mail, and returns the signed-in client. */
export async function register(email, options = {}) {
  const supabase = anonymousClient();
  const { data, error } = await supabase.auth.signUp({ email, password: demoPassword, options });
  if (error) stop(`${email}: ${error.message}`);
  if (data.session) return supabase;
  const inbox = await fetch(`${url}/mail/messages?to=${encodeURIComponent(email)}`);
  const { messages: [{ token }] } = await inbox.json();
  const confirmed = await supabase.auth.verifyOtp({ email, token, type: "email" });
  if (confirmed.error) stop(`${email}: ${confirmed.error.message}`);
  return supabase;
}

/** A signed-in client; `id` is the user's id. */
export async function signIn(email, password = demoPassword) {
  const supabase = anonymousClient();
  const { data, error } = await supabase.auth.signInWithPassword({ email, password });
  if (error) stop(`${email}: ${error.message}. Is npm start running, with its demo data?`);
  return Object.assign(supabase, { id: data.user.id, email });
}

/** Makes a call that must succeed and returns its body, such as call(ops, "GET", "delivery/services"). */
export async function call(person, method, path, body, headers) {
  const { status, answer } = await send(person, method, path, body, headers);
  if (status >= 400) stop(`${method} ${path}: ${status} ${answer.code}: ${answer.message}`);
  return answer;
}

/** Makes a call that must fail and returns its error: {status, code, message}. */
export async function expectError(person, method, path, body, headers) {
  const { status, answer } = await send(person, method, path, body, headers);
  if (status < 400) stop(`${method} ${path} was accepted: ${JSON.stringify(answer)}`);
  return { status, ...answer };
}

async function send(person, method, path, body, headers) {
  const { data, error } = await person.functions.invoke(path, { method, body, headers });
  if (!error) return { status: 200, answer: data };
  if (!(error.context instanceof Response)) stop(`${method} ${path}: ${error.message}`);
  return { status: error.context.status, answer: await error.context.json() };
}

/** Calls `poll` until it returns something other than undefined; stops the walkthrough after `seconds`. */
export async function waitFor(what, poll, seconds = 90) {
  const deadline = Date.now() + seconds * 1000;
  do {
    const found = await poll();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 250));
  } while (Date.now() < deadline);
  return stop(`${what}: not within ${seconds} seconds`);
}

/** A subscriber's server: receives events and answers 200. */
export async function listen(into) {
  const server = createServer(async (request, response) => {
    let raw = "";
    for await (const chunk of request) raw += chunk;
    into.push({ raw, headers: request.headers });
    response.end("ok");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/barid`,
    close: () => server.close() && server.closeAllConnections(),
  };
}

export function say(step) {
  console.log(`\n${step}`);
}

export function show(line) {
  console.log(`  ${line}`);
}

/** Prints a value, and stops the walkthrough if it is not the expected one. */
export function check(what, found, expected) {
  const text = typeof found === "string" ? found : JSON.stringify(found);
  if (!isDeepStrictEqual(found, expected)) {
    stop(`${what}: ${text}, expected ${JSON.stringify(expected)}`);
  }
  show(`${what}: ${text}`);
}

export function money(amount) {
  return `${amount.toLocaleString("en")} IQD`;
}

export function stop(message) {
  console.error(message);
  process.exit(1);
}

/** The URL and publishable key of the stack: from the environment, else as `npm run status` prints them. */
function connection() {
  const { BARID_URL, BARID_KEY } = process.env;
  if (BARID_URL && BARID_KEY) return { url: BARID_URL, key: BARID_KEY };
  let printed;
  try {
    printed = execFileSync("npm", ["run", "--silent", "status", "--", "--json"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  } catch (error) {
    return stop(
      `Barid is not running here: start it with npm start, in another terminal.\n${error.message}`,
    );
  }
  const running = JSON.parse(printed);
  return { url: running.url, key: running.publishable_key };
}

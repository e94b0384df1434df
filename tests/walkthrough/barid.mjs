// What every walk uses: who calls, how a call is made, how a step is told and checked.
// BARID_URL and BARID_KEY say which Barid; without them it is the `npm start` of this folder.
import { execFileSync } from "node:child_process";
import { isDeepStrictEqual } from "node:util";
import { createClient } from "@supabase/supabase-js";
import WebSocket from "ws";

export const { url, key } = address();
export const demoPassword = "Barid-demo-1";

/** A supabase-js client of nobody yet. */
export function visit() {
  return createClient(url, key, {
    auth: { persistSession: false, autoRefreshToken: false },
    realtime: { transport: WebSocket },
  });
}

/** A supabase-js client of somebody who registers and confirms the address by the code of the mail. */
export async function register(email, options = {}) {
  const supabase = visit();
  const { data, error } = await supabase.auth.signUp({ email, password: demoPassword, options });
  if (error) stop(`${email}: ${error.message}`);
  if (data.session) return supabase;
  const inbox = await fetch(`${url}/mail/messages?to=${encodeURIComponent(email)}`);
  const { messages: [{ token }] } = await inbox.json();
  const confirmed = await supabase.auth.verifyOtp({ email, token, type: "email" });
  if (confirmed.error) stop(`${email}: ${confirmed.error.message}`);
  return supabase;
}

/** One that is signed in; `id` is the person's. */
export async function signIn(email, password = demoPassword) {
  const supabase = visit();
  const { data, error } = await supabase.auth.signInWithPassword({ email, password });
  if (error) stop(`${email}: ${error.message}. Is npm start running, with its demo data?`);
  return Object.assign(supabase, { id: data.user.id, email });
}

/** The answer of a call that has to succeed, such as call(ops, "GET", "delivery/services"). */
export async function call(person, method, path, body, headers) {
  const { status, answer } = await send(person, method, path, body, headers);
  if (status >= 400) stop(`${method} ${path}: ${status} ${answer.code}: ${answer.message}`);
  return answer;
}

/** The refusal of a call that must not succeed: {status, code, message}. */
export async function refused(person, method, path, body, headers) {
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

/** Asks again until there is an answer other than undefined. */
export async function until(what, ask, seconds = 90) {
  for (let tries = 0; tries < seconds * 4; tries++) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  return stop(`${what}: not within ${seconds} seconds`);
}

export function say(step) {
  console.log(`\n${step}`);
}

export function show(line) {
  console.log(`  ${line}`);
}

/** Shows what was found, and ends the walk when it is not what it should be. */
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

function address() {
  const { BARID_URL, BARID_KEY } = process.env;
  if (BARID_URL && BARID_KEY) return { url: BARID_URL, key: BARID_KEY };
  try {
    const printed = execFileSync("npm", ["run", "--silent", "status", "--", "--json"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    const running = JSON.parse(printed);
    return { url: running.url, key: running.publishable_key };
  } catch {
    return stop("Barid is not running here: start it with npm start, in another terminal.");
  }
}

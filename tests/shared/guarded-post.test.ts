/** Over TLS, on Deno as it is deployed: the server must prove to be the host of the URL, whatever address it has. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { denoBinary, root } from "../../supabase/local/paths.ts";
import { denoEnvironment } from "../../supabase/local/worker-process.ts";
import { clock } from "../support/clock.ts";
import { type Certificate, newAuthority, newCertificate } from "../support/certificates.ts";

const host = "hook.example";
const dir = mkdtempSync(join(tmpdir(), "barid-tls-"));
const trusted = join(dir, "authority.pem");
const servers: Server[] = [];
/** Requests that got through to a server. */
let received = 0;
let authority: Certificate;
beforeAll(async () => {
  authority = await newAuthority();
  writeFileSync(trusted, authority.cert);
});
afterAll(() => {
  for (const server of servers) server.close();
  rmSync(dir, { recursive: true, force: true });
});

/** A server with this certificate; its port. */
async function serve({ cert, key }: Certificate, pieces: string[] = ["ok"]): Promise<number> {
  const server = createServer({ cert, key }, (_request, response) => {
    received++;
    for (const piece of pieces) response.write(piece);
    response.end();
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** A POST to the name at this machine, trusting the authority alone. */
function post(port: number): Promise<{ status?: number; body?: string; error?: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(denoBinary(), [
      "run",
      "--allow-env",
      "--allow-net",
      "--allow-read",
      "--config",
      join(root, "deno.json"),
      "tests/support/post-on-deno.ts",
    ], { cwd: root, env: { ...denoEnvironment(), ...clock, DENO_CERT: trusted } });
    let out = "";
    let said = "";
    child.stdout.on("data", (chunk) => out += chunk);
    child.stderr.on("data", (chunk) => said += chunk);
    child.once("error", reject);
    child.once("close", () => out ? resolve(JSON.parse(out)) : reject(new Error(said)));
    child.stdin.end(JSON.stringify({ url: `https://${host}:${port}/`, address: "127.0.0.1" }));
  });
}

test("the name of the URL is what the certificate must be for: its own passes, another is refused", async () => {
  const own = await serve(await newCertificate(host, authority));
  expect(await post(own)).toEqual({ status: 200, body: "ok" });
  expect(received).toBe(1);
  const other = await serve(await newCertificate("elsewhere.example", authority));
  expect((await post(other)).error).toMatch(/certificate/i);
  expect(received).toBe(1);
});

test("a certificate that ran out, or of an authority nobody trusts, is refused", async () => {
  const before = received;
  const ended = await serve(await newCertificate(host, authority, { ended: true }));
  expect((await post(ended)).error).toMatch(/certificate/i);
  const stranger = await newAuthority();
  const unknown = await serve(await newCertificate(host, stranger));
  expect((await post(unknown)).error).toMatch(/certificate/i);
  expect(received).toBe(before);
});

test("an answer in chunks is whole, whatever its lines look like, and no longer than is kept", async () => {
  const pieces = ["first\r\n0\r\n", "\r\n0\r\n\r\n", "last"];
  const chunked = await serve(await newCertificate(host, authority), pieces);
  expect(await post(chunked)).toEqual({ status: 200, body: pieces.join("") });
  const long = await serve(await newCertificate(host, authority), ["x".repeat(60), "y".repeat(60)]);
  expect(await post(long)).toEqual({ status: 200, body: "x".repeat(60) + "y".repeat(40) });
});

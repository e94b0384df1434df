/** Passwords as PostgreSQL keeps them. */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";

const iterations = 4_096;

/**
 * The form in which PostgreSQL keeps a password (SCRAM-SHA-256, RFC 5803 with separators of its own), and takes it: so the password stands in
 * no log of statements, where hosted databases write what changes roles. Of letters of ASCII, which need no preparation.
 */
export function scramVerifier(password: string, salt: Uint8Array = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, iterations, 32, "sha256");
  const keyed = (name: string) => createHmac("sha256", salted).update(name).digest();
  const stored = createHash("sha256").update(keyed("Client Key")).digest("base64");
  const server = keyed("Server Key").toString("base64");
  return `SCRAM-SHA-256$${iterations}:${Buffer.from(salt).toString("base64")}$${stored}:${server}`;
}

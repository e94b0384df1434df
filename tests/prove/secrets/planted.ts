/** The secrets that a test planted, and the search for them in a text. */
import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { expect } from "vitest";

/** The secret values that only this test wrote, by kind. */
export const planted = new Map<string, string>();

/** A secret of ours to plant. */
export function canary(what: string): string {
  const text = `Cnry${randomUUID().replaceAll("-", "")}`;
  planted.set(what, text);
  return text;
}

/** A secret that an answer told once. */
export function told(what: string, secret: string): void {
  expect(secret, what).toMatch(/.{20}/);
  planted.set(what, secret.replace(/^whsec_/, ""));
}

/** A secret as it is, and in the forms it may take on its way. */
export function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    bytes.toString("hex"),
    bytes.toString("base64").replace(/=+$/, ""),
    encodeURIComponent(secret),
    // Of a secret that is base64 itself: what it stands for.
    Buffer.from(secret, "base64").toString("hex"),
  ];
}

/** The planted secrets that stand in a text, as `what: where`. */
export function inText(where: string, text: string): string[] {
  return [...planted].filter(([, secret]) => formsOf(secret).some((form) => text.includes(form)))
    .map(([what]) => `${what}: ${where}`);
}

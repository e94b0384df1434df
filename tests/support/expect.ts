/** Matchers for API responses. */
import { expect } from "vitest";
import type { Answer } from "./api.ts";

/** Any id, as the interface writes them. */
export const anId = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);

expect.extend({
  /** 2xx and `success: true`. */
  toSucceed(answer: Answer, status?: number) {
    const right = answer.status >= 200 && answer.status < 300 && answer.body.success === true &&
      (status === undefined || answer.status === status);
    return {
      pass: right,
      message: () =>
        `expected success${status ? ` with ${status}` : ""}, got ${answer.status} ${
          JSON.stringify(answer.body)
        }`,
    };
  },
  /** This status and code, `success: false`, a message for people and nothing of the inside. */
  toFailWith(answer: Answer, status: number, code: string) {
    const { body } = answer;
    const text = JSON.stringify(body);
    const right = answer.status === status && body.success === false && body.code === code &&
      typeof body.message === "string" && body.message.length > 3 && body.message !== code &&
      !/\{\w+\}|undefined|select |insert |relation|PostgresError|call_id/i.test(text);
    return {
      pass: right,
      message: () => `expected ${status} ${code}, got ${answer.status} ${text}`,
    };
  },
});

interface ApiMatchers<R = unknown> {
  toSucceed(status?: number): R;
  toFailWith(status: number, code: string): R;
}

declare module "vitest" {
  // deno-lint-ignore no-explicit-any -- the shape vitest documents for own matchers
  interface Matchers<T = any> extends ApiMatchers<T> {}
}

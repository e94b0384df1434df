import type { ContentfulStatusCode } from "hono/utils/http-status";

/** A refusal in the shape of Supabase Auth: `{ code, error_code, msg }`. */
export class AuthFailure extends Error {
  constructor(
    readonly status: ContentfulStatusCode,
    readonly errorCode: string,
    message: string,
  ) {
    super(message);
  }

  /** The JSON body of the answer. */
  get body() {
    return { code: this.status, error_code: this.errorCode, msg: this.message };
  }
}

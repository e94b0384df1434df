import { errorCode, messageOf } from "../failure.ts";

/** A refusal in the shape of Supabase Storage: HTTP 400, the meant status as a string in the body. */
export class StorageFailure extends Error {
  constructor(readonly statusCode: number, readonly error: string, message: string) {
    super(message);
  }

  /** The JSON body of the answer. */
  get body() {
    return { statusCode: String(this.statusCode), error: this.error, message: this.message };
  }
}

/** Translates a failed statement or check for the client. */
export function toStorageFailure(error: unknown): StorageFailure {
  if (error instanceof StorageFailure) return error;
  switch (errorCode(error)) {
    case "42501":
      return new StorageFailure(403, "Unauthorized", messageOf(error));
    case "23505":
      return new StorageFailure(409, "Duplicate", "The resource already exists");
    case "23503":
      return new StorageFailure(404, "Bucket not found", "Bucket not found");
    case "ENOSPC":
      return new StorageFailure(507, "InsufficientStorage", "The disk is full");
    default:
      return new StorageFailure(500, "Internal", messageOf(error));
  }
}

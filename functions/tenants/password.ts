import { z } from "zod";

/** Auth hashes with bcrypt, which reads 72 bytes and no more. */
export const Password = z.string().min(8).refine(
  (password) => new TextEncoder().encode(password).length <= 72,
  { error: "at most 72 bytes" },
);

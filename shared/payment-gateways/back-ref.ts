import { z } from "zod";
import { orEmpty } from "../schemas/schemas.ts";

/**
 * Where a gateway sends people back to: an absolute https address, with no name or password in it, and with
 * nothing that programs read differently.
 */
const BackRef = z.string().max(2_000).regex(/^https:\/\/[^\s\\]+$/).refine((text) => {
  if (!URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === "" && password === "";
});

/** Its two names in a body. An empty one says nothing. */
export const backRefs = {
  backRef: orEmpty(BackRef).nullish(),
  back_ref: orEmpty(BackRef).nullish(),
};

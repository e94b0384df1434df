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

// Named, or generators that write two names in one way make two types of one name.
const ReturnAddress = orEmpty(BackRef).nullish().meta({
  id: "ReturnAddress",
  description: "Where the gateway sends the customer back to; an empty one says nothing",
});

/** Its two names in a body. */
export const backRefs = { backRef: ReturnAddress, back_ref: ReturnAddress };

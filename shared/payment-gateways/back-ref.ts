import { z } from "zod";

/**
 * Where a gateway sends people back to: an absolute https address, with no name or password in it, and with
 * nothing that programs read differently.
 */
export const BackRef = z.string().max(2_000).regex(/^https:\/\/[^\s\\]+$/).refine((text) => {
  if (!URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === "" && password === "";
});

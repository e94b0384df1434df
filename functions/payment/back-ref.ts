import { z } from "zod";

/** Where a gateway sends people back to: an absolute https address, with no name or password in it. */
export const BackRef = z.url({ protocol: /^https$/ }).max(2_000).refine((text) => {
  const { username, password } = new URL(text);
  return username === "" && password === "";
});

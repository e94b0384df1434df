/** The common parts of lists of events. */
import { z } from "zod";

/** Lists show the first hundred of each list in an event's data; the detail has them all. */
export const Shortened = z.record(z.string(), z.int()).meta({
  description:
    "Fields of which the first hundred are shown here, with how many there are; empty where all is shown",
});

import { triedBy } from "./matrix.ts";

triedBy("dispatcher");

import { triedBy } from "./matrix.ts";

triedBy("ops");

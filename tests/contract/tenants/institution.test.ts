import { triedBy } from "./matrix.ts";

triedBy("institution");

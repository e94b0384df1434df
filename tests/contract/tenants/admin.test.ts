import { triedBy } from "./matrix.ts";

triedBy("admin");

import { triedBy } from "./matrix.ts";

triedBy("customer");

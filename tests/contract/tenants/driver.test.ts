import { triedBy } from "./matrix.ts";

triedBy("driver");

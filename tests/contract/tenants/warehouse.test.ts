import { triedBy } from "./matrix.ts";

triedBy("warehouse");

import { triedBy } from "./matrix.ts";

triedBy("staff");

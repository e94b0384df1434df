/** Orders stops under Deno and says what that cost: CPU in milliseconds, by what was ordered. */
import { orderStops } from "../../functions/delivery/assignments/route-order.ts";
import { pairs } from "../support/instances/pairs.ts";
import { cpuMs } from "./cpu.ts";

const problems = {
  "100 stops": pairs(50, 7),
  "100 stops with times": pairs(50, 7, (index) => 30 + index * 7),
  "100 parcels": pairs(100, 7),
};
const cpu: Record<string, number> = {};
for (const [name, problem] of Object.entries(problems)) {
  const before = cpuMs();
  orderStops(problem);
  cpu[name] = cpuMs() - before;
}
console.log(JSON.stringify(cpu));

/** Orders stops under Deno and says what that cost: CPU in milliseconds, by what was ordered. */
import { searchOrder } from "../../functions/delivery/stop-order/search.ts";
import { pairs, stopsOf } from "../support/instances/stops.ts";
import { bothDays, listOf, routes } from "../support/instances/windows.ts";
import { cpuMs } from "./cpu.ts";

const problems = {
  "103 stops with windows": listOf(bothDays(routes[2], routes[4])).described,
  "100 stops": pairs(50, 7),
  "100 stops, many of them late": pairs(50, 7, (index) => 30 + index * 7),
  "100 parcels": pairs(100, 7),
};
const cpu: Record<string, number> = {};
for (const [name, problem] of Object.entries(problems)) {
  const before = cpuMs();
  searchOrder(stopsOf(problem));
  cpu[name] = cpuMs() - before;
}
console.log(JSON.stringify(cpu));

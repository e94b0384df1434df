/** Another solver in the place of ours: an engine that takes and answers VROOM's JSON. */
import { callOut } from "../../../shared/outbound/fetch.ts";
import { optimizerUrl } from "../../../shared/runtime/env.ts";
import { log } from "../../../shared/runtime/log.ts";
import type { Problem, Solution } from "./problem.ts";
import { solutionOf, solve } from "./solver.ts";

const timeoutMs = 5_000;
/** Larger problems are not sent, and larger answers not read: about 250 stops, in bytes. */
const maxBytes = 2_000_000;

/**
 * Solves a problem by the engine at this address. It is ours that answers, and a line in the log says why, when the
 * engine fails, is slow, leaves a stop out (its windows are hard, so it does with one that nobody can reach in time) or
 * proposes what is worse than the present order.
 */
export async function solveBest(
  problem: Problem,
  url: string | undefined = optimizerUrl,
  timeout = timeoutMs,
): Promise<Solution> {
  if (!url || problem.vehicles[0].steps.length < 2) return solve(problem);
  try {
    const solution = solutionOf(problem, await stepsFrom(url, problem, timeout));
    if (solution) return solution;
    log("warn", "optimizer_failed", {
      error: "its order is not whole, or worse than the present one",
    });
  } catch (error) {
    log("warn", "optimizer_failed", { error: String(error) });
  }
  return solve(problem);
}

async function stepsFrom(url: string, problem: Problem, timeout: number) {
  // The present order is not sent: VROOM refuses one that misses a window.
  const vehicles = problem.vehicles.map(({ steps: _, ...vehicle }) => vehicle);
  const body = JSON.stringify({ ...problem, vehicles });
  if (body.length > maxBytes) throw new Error("the problem is too large to send");
  const response = await callOut(
    url,
    { method: "POST", headers: { "content-type": "application/json" }, body },
    { timeoutMs: timeout },
  );
  const text = await readAtMost(response, maxBytes);
  if (!response.ok) throw new Error(`the optimizer answered ${response.status}`);
  const { code, routes } = JSON.parse(text) as {
    code?: number;
    routes?: { steps?: { type: string; id?: number }[] }[];
  };
  if (code !== 0) throw new Error(`the optimizer answered code ${code}`);
  return (Array.isArray(routes) ? routes : []).flatMap(({ steps }) => steps ?? []);
}

/** The text of an answer; throws when it has more bytes than this. */
async function readAtMost(response: Response, bytes: number): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let [text, read] = ["", 0];
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    read += part.value.byteLength;
    if (read > bytes) {
      // Nobody waits for what an engine does with that.
      void reader?.cancel();
      throw new Error("the optimizer's answer is too large");
    }
    text += decoder.decode(part.value, { stream: true });
  }
  return text + decoder.decode();
}

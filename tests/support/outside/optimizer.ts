/** An engine that takes and answers VROOM's JSON: it keeps the order in which stops are sent until a test says otherwise. */
import { http, HttpResponse, type JsonBodyType, type RequestHandler } from "msw";
import type { Problem, TaskType } from "../../../functions/delivery/stop-order/problem.ts";

type Sent = Pick<Problem, "jobs" | "shipments" | "matrices">;
type Steps = { type: TaskType | "start" | "end"; id?: number }[];

export interface Optimizer {
  handlers: RequestHandler[];
  /** The problems that were sent. */
  asked: Sent[];
  /** The steps of the one route; or another answer; `undefined` is never answered. */
  answer: (problem: Sent) => Steps | { status?: number; body: JsonBodyType } | undefined;
}

/** The stops as they were sent, each pickup followed by its delivery. */
export function asSent({ jobs, shipments }: Sent): Steps {
  return [
    ...jobs.map(({ id }) => ({ type: "job" as const, id })),
    ...shipments.flatMap(({ pickup, delivery }) => [
      { type: "pickup" as const, id: pickup.id },
      { type: "delivery" as const, id: delivery.id },
    ]),
  ];
}

export function optimizer(url: string): Optimizer {
  const engine: Optimizer = { handlers: [], asked: [], answer: asSent };
  engine.handlers.push(http.post(url, async ({ request }) => {
    const problem = await request.json() as Sent;
    engine.asked.push(problem);
    const answer = engine.answer(problem);
    if (!answer) return await new Promise<never>(() => {});
    if (!Array.isArray(answer)) return HttpResponse.json(answer.body, { status: answer.status });
    const steps = [{ type: "start" }, ...answer, { type: "end" }];
    return HttpResponse.json({ code: 0, unassigned: [], routes: [{ vehicle: 1, steps }] });
  }));
  return engine;
}

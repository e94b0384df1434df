import { z } from "zod";
import { service } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { runSender } from "./run-sender.ts";

export const sender: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/internal/dispatch",
    summary: "Hand events to their subscriptions and send what is due, after the answer",
    access: service(),
    tenant: "none",
    internal: true,
    response: z.object({}),
    status: 202,
    async run({ db, waitUntil }) {
      await db.check();
      waitUntil(runSender());
      return {};
    },
  }),
];

import { Buffer } from "node:buffer";
import type { z } from "zod";
import { anyOf, apiKey, permission, role } from "../../../shared/api/access.ts";
import { sha256Hex } from "../../../shared/http/actor.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { defineList, id, oneOf } from "../../../shared/api/list.ts";
import { ids } from "../../../shared/schemas/schemas.ts";
import { seal, unseal } from "../../../shared/outbound/secrets.ts";
import {
  ApiKeyCreated,
  ApiKeyResponse,
  ApiKeysResponse,
  CreateApiKey,
  MyApiKeyResponse,
  statuses,
} from "./schemas.ts";

const list = defineList({
  view: "tenancy.api_keys_list",
  sort: ["created_at", "name"],
  params: { status: oneOf("status", statuses), created_by: id("created_by_id") },
  hidden: ["created_by_id"],
  limit: { default: 20, max: 100 },
});

/** The purpose that a new key is sealed for while its answer may be replayed. */
const purpose = (id: string) => `api_key/${id}`;

/** A new key: a name to find it by in a leaked file, and 32 random bytes. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `barid_${Buffer.from(bytes).toString("base64url")}`;
}

/** Administrators make the company's keys; institutions those of their own programs, and see no others. */
const makers = anyOf(permission("manage:tenant"), role("institution"));

/** Keys that programs of a company, and of its merchants, call with, as `x-api-key`. */
export const apiKeys: AnyEndpoint[] = [
  endpoint({
    method: "get",
    path: "/me/api-key",
    summary: "Read the API key of this call: what it may do, until when, and in which company",
    access: apiKey(),
    tenant: "none",
    response: MyApiKeyResponse,
    run: ({ db }) => db.call("tenancy.api_key_mine"),
  }),
  endpoint({
    method: "get",
    path: "/me/api-keys",
    summary: "List the API keys of my tenant, or of my own programs; never the keys themselves",
    access: makers,
    query: list.query,
    response: ApiKeysResponse,
    run: ({ db, query }) => list.answer(db, query),
  }),
  endpoint({
    method: "post",
    path: "/me/api-keys",
    summary: "Make an API key for a program of my tenant, or for my own; it is shown once",
    access: makers,
    person: true,
    body: CreateApiKey,
    response: ApiKeyCreated,
    confidential: true,
    status: 201,
    errors: [
      "api_key_scope_not_held",
      "api_key_expiry_past",
      "api_key_expiry_too_far",
      "api_key_limit_reached",
    ],
    async run({ db, body }) {
      const [keyId, key] = [crypto.randomUUID(), newKey()];
      const made = {
        id: keyId,
        hash: sha256Hex(key),
        hint: key.slice(-4),
        key: await seal(key, purpose(keyId)),
      };
      const answer = await db.call<z.infer<typeof ApiKeyCreated>>("tenancy.api_key_create", {
        ...body,
        made,
      });
      // Asked again with its Idempotency-Key, the answer is the first one, with the first key.
      return { ...answer, key: await unseal(answer.key, purpose(answer.api_key.id)) };
    },
  }),
  endpoint({
    method: "post",
    path: "/me/api-keys/:api_key_id/take-over",
    summary: "Answer for an API key in its maker's place, so that it works on when they go",
    access: permission("manage:tenant"),
    person: true,
    params: ids("api_key_id"),
    response: ApiKeyResponse,
    errors: ["api_key_not_found", "api_key_ended", "api_key_scope_not_held"],
    run: ({ db, params }) => db.call("tenancy.api_key_take_over", { id: params.api_key_id }),
  }),
  endpoint({
    method: "delete",
    path: "/me/api-keys/:api_key_id",
    summary: "End an API key, with the next call that uses it",
    access: makers,
    params: ids("api_key_id"),
    response: ApiKeyResponse,
    errors: ["api_key_not_found"],
    run: ({ db, params }) => db.call("tenancy.api_key_revoke", { id: params.api_key_id }),
  }),
];

/** One guarded POST under Deno, as the functions make it: `{ url, address }` as JSON on standard input, the end out. */
import { guardedPost } from "../../shared/outbound/guarded-post.ts";

const { url, address } = await new Response(Deno.stdin.readable).json();
const family = address.includes(":") ? 6 : 4;
const told = await guardedPost(url, {}, "{}", {
  allowLocal: true,
  resolve: () => Promise.resolve([{ address, family }]),
  timeoutMs: 5_000,
  keepBytes: 100,
}).then(({ status, body }) => ({ status, body }), (error) => ({ error: String(error) }));
console.log(JSON.stringify(told));

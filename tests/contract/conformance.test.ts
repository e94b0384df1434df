/** The comparison of calls with the API's document finds what differs: else finding nothing would prove nothing. */
import { expect, test } from "vitest";
import { describeAll } from "../../shared/http/openapi.ts";
import { everyFunction } from "../../supabase/local/endpoints.ts";
import { readExamples } from "../../supabase/local/docs/examples.ts";
import { Conformance, type Exchange } from "../support/conformance.ts";

const conformance = new Conformance(JSON.parse(JSON.stringify(describeAll(await everyFunction()))));
const { request, answer } = readExamples().calls["POST /delivery/delivery-types"]!;
const differenceOf = (more: Partial<Exchange> = {}) =>
  conformance.differenceOf({
    method: "POST",
    path: "/delivery/delivery-types",
    body: JSON.stringify(request),
    status: 201,
    contentType: "application/json",
    answer: JSON.stringify(answer),
    ...more,
  });

test("a call as the document has it does not differ", () => {
  expect(differenceOf()).toBeUndefined();
});

test.each<[string, Partial<Exchange>, string]>([
  ["a path", { path: "/delivery/delivery-kinds" }, "is not in the document"],
  ["a method", { method: "DELETE" }, "is not in the document"],
  ["a status", { status: 207 }, "207 is not in the document"],
  ["a type", { contentType: "text/html" }, "201 with text/html is not in the document"],
  ["a field", { answer: JSON.stringify({ ...answer as object, more: 1 }) }, "unevaluated"],
  ["nothing", { answer: "{}" }, "must have required property"],
  ["a code", {
    status: 400,
    answer: '{"success":false,"code":"no_such_code","message":"No"}',
  }, "must be equal to constant"],
  ["a request", { body: '{"code":7}' }, "accepted"],
])("%s that is not in the document is a difference", (_, more, difference) => {
  expect(differenceOf(more)).toContain(difference);
});

test("literal paths go before those with parameters, as in the functions", () => {
  expect(conformance.templateOf("/delivery/drivers/me/duty", "post"))
    .toBe("/delivery/drivers/me/duty");
  expect(conformance.templateOf("/delivery/drivers/4a33eacd/positions", "get"))
    .toBe("/delivery/drivers/{driver_id}/positions");
});

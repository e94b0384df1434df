/** New users that are refused: nothing of them is left in Auth. */
import { beforeAll, expect, test } from "vitest";
import { type Person } from "../../support/api.ts";
import { newSystemAdmin, newTenant, type Tenant } from "../../support/people.ts";
import { authUser, membersOf, person } from "../../support/users.ts";

let a: Tenant;
let system: Person;
beforeAll(async () => {
  [a, system] = await Promise.all([newTenant(), newSystemAdmin()]);
});

const bad: [string, Record<string, unknown>, string][] = [
  ["no e-mail", { email: undefined }, "email"],
  ["an e-mail that is none", { email: "nour" }, "email"],
  ["an e-mail that is too long", { email: `${"x".repeat(250)}@a.io` }, "email"],
  ["a password of seven", { password: "1234567" }, "password"],
  ["a password of more than 72 bytes", { password: "ق".repeat(40) }, "password"],
  ["a name of spaces", { full_name: "  " }, "full_name"],
  ["a name that is a number", { full_name: 5 }, "full_name"],
  ["a kind that does not exist", { tenant_user_type: "boss" }, "tenant_user_type"],
  ["a system role", { roles: ["system_admin"] }, "roles.0"],
  ["a role that does not exist", { roles: ["owner"] }, "roles.0"],
  ["roles that are no list", { roles: "dispatcher" }, "roles"],
  ["is_business as text", { is_business: "yes" }, "is_business"],
];
test.each(bad)("%s is refused before Auth hears of it", async (_, wrong, field) => {
  const answer = await system.post(membersOf(a), person(wrong));
  expect(answer).toFailWith(400, "validation_failed");
  expect(answer.body.field).toBe(field);
});

test("a NUL in a name is refused, and nothing is left in Auth", async () => {
  const input = person({ full_name: "a\u0000b" });
  const answer = await system.post(membersOf(a), input);
  expect(answer.status).toBe(400);
  expect(await authUser(input.email)).toHaveLength(0);
});

test.each([
  ["staff", ["driver"]],
  ["staff", []],
  ["driver", ["tenant_admin"]],
  ["driver", ["driver", "dispatcher"]],
  ["customer", ["institution"]],
])("a %s with the roles %j is refused", async (tenant_user_type, roles) => {
  expect(await system.post(membersOf(a), person({ tenant_user_type, roles })))
    .toFailWith(400, "invalid_roles");
});

import { type DemoAccount, demoAccounts, demoPassword } from "./demo-accounts.ts";
import type { Stack } from "./stack.ts";

/** The call that shows that all parts work together. */
const firstCall = "GET /functions/v1/tenants/me";

/** The text that `npm start` prints when everything runs. */
export async function welcome(stack: Stack): Promise<string> {
  const accounts = await demoAccounts(stack.sql);
  return [
    "",
    `  API              ${stack.url}/functions/v1/<function>`,
    `  Documentation    ${stack.url}/docs`,
    `  Publishable key  ${stack.publishableKey}`,
    `  Database         ${stack.dbUrl}`,
    `  Mail             ${stack.url}/mail`,
    "",
    ...(accounts.length > 0
      ? accountLines(stack, accounts)
      : ["  No demo accounts: sql/demo is empty.", ""]),
    "  Ctrl-C stops everything; the data is kept.",
  ].join("\n");
}

function accountLines(stack: Stack, accounts: DemoAccount[]): string[] {
  const width = Math.max(...accounts.map(({ email }) => email.length));
  return [
    `  Demo accounts, password ${demoPassword}:`,
    ...accounts.map(({ email, label }) => `    ${email.padEnd(width)}  ${label}`),
    "",
    "  Try:",
    `    ${
      curl(
        stack,
        (accounts.find(({ email }) => email.startsWith("dispatcher@")) ?? accounts[0]!).email,
      )
    }`,
    "",
  ];
}

/** One line to paste: signs in, takes the token out of the answer, makes the call with it. */
function curl(stack: Stack, email: string): string {
  const [method, path] = firstCall.split(" ");
  const signIn = [
    `curl -s '${stack.url}/auth/v1/token?grant_type=password'`,
    `-H 'apikey: ${stack.publishableKey}' -H 'content-type: application/json'`,
    `-d '{"email":"${email}","password":"${demoPassword}"}'`,
    `| sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/'`,
  ].join(" ");
  return `curl -s -X ${method} '${stack.url}${path}' -H "authorization: Bearer $(${signIn})"`;
}

// npm run tenant: takes one company out of a project, brings it into another, looks whether it changed meanwhile, and deletes it.
import { Failure } from "../local/failure.ts";
import { UsageFailure } from "../local/command-line.ts";
import { openPlace, whereIs } from "./place.ts";
import { compareTenant } from "./compare.ts";
import { deleteTenant } from "./delete.ts";
import { exportTenant } from "./export.ts";
import { importTenant } from "./import.ts";
import { parseTenantOptions, tenantHelp } from "./options.ts";

try {
  await run(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Failure ? error.message : error);
  process.exitCode = error instanceof UsageFailure ? 2 : 1;
}

async function run(args: string[]): Promise<void> {
  const options = parseTenantOptions(args);
  if (options.command === "help") return console.log(tenantHelp);
  const place = openPlace(whereIs(process.env));
  const print = (line: string) => console.log(line);
  try {
    if (options.command === "export") await exportTenant(place, options, print);
    else if (options.command === "import") await importTenant(place, options, print);
    else if (options.command === "delete") await deleteTenant(place, options, print);
    else await compareTenant(place, options, print);
  } finally {
    await place.close();
  }
}

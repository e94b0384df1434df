// npm run deploy: brings a project of Supabase to what this checkout says.
import { Failure } from "../local/failure.ts";
import { UsageFailure } from "../local/command-line.ts";
import { deploy } from "./deploy.ts";

try {
  await deploy(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Failure ? error.message : error);
  process.exitCode = error instanceof UsageFailure ? 2 : 1;
}

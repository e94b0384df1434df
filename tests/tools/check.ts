// npm run check: what can be known without a database, in seconds.
import { staticSteps } from "./checks/static.ts";
import { closing, prove } from "./checks/steps.ts";

process.exitCode = closing(await prove([staticSteps]));

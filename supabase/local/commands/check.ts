// npm run check: what can be known without a database, in seconds.
import { staticSteps } from "../proof/static.ts";
import { closing, prove } from "../proof/steps.ts";

process.exitCode = closing(await prove([staticSteps]));

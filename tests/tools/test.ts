// npm test: the whole proof. Every step runs to its end; the last line counts them all.
import { staticSteps } from "./checks/static.ts";
import { closing, prove } from "./checks/steps.ts";
import { vitestStep } from "./checks/vitest.ts";

const outcome = await prove([
  staticSteps,
  [vitestStep("Tests", ["--exclude=tests/deploy/**"])],
  [vitestStep("Deployment gates", [
    "tests/deploy/",
    // Wants the pg_dump of its server: npm run test:debian has both.
    "--exclude=tests/deploy/restore.test.ts",
  ])],
]);
process.exitCode = closing(outcome);

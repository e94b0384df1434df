// npm run test:full: what npm test leaves out or does in a brief form (checks/suites.ts says what and why).
import { newerNodes, nodeStep } from "./checks/nodes.ts";
import { closing, prove } from "./checks/steps.ts";
import { briefInTest, onlyInFull, onlyOnDebian } from "./checks/suites.ts";
import { vitestStep } from "./checks/vitest.ts";

const [gates, ...programs] = Object.keys(onlyInFull);
process.exitCode = closing(
  await prove([
    [vitestStep("Proofs in their whole form", Object.keys(briefInTest), { BARID_PROVE: "test" })],
    [vitestStep("Demo, upgrades, walkthroughs, linters", programs)],
    [vitestStep("Deployment gates", [gates!, `--exclude=${onlyOnDebian}`])],
    ...newerNodes.map((version) => [nodeStep(version)]),
  ]),
);

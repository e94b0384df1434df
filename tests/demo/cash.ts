/** The evening: cash is handed in by drivers, taken at the dispatcher's desk, or settled by wallet; some keep it till tomorrow. */
import { DemoFailure, done, type Person } from "./barid.ts";
import type { Count } from "./count.ts";
import { fund, type World } from "./people.ts";
import type { Evening } from "./plan.ts";
import type { Finished } from "./drivers.ts";
import { each, type Progress } from "./progress.ts";

interface Row {
  id: string;
  amount: number;
  evening: Evening;
}

/** Settles what every driver took in these ways, as the plan has it. */
export async function settleCash(
  world: World,
  finished: Finished[],
  ways: readonly Evening[],
  count: Count,
  progress: Progress,
): Promise<void> {
  const jobs = new Map(finished.map((job) => [job.parcel, job]));
  await each(world.drivers, async (driver) => {
    const rows = await rowsOf(driver, jobs, count);
    for (const way of ways) {
      const chosen = rows.filter(({ evening }) => evening === way);
      if (way === "remit") await remit(world, driver, chosen, count, driver);
      if (way === "desk") await remit(world, driver, chosen, count, world.dispatcher);
      if (way === "wallet") await byWallet(world, driver, chosen, count);
    }
    progress.step();
  });
}

/** The cash that a driver holds, and its planned settlement. */
async function rowsOf(
  { barid }: Person,
  jobs: Map<string, Finished>,
  count: Count,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let page = 1, total = 1; rows.length < total; page++) {
    const { cod } = await done(barid.GET("/delivery/cod-collections", {
      params: { query: { status: "collected", limit: 100, page } },
    }));
    total = cod.pagination.total;
    if (!cod.collections.length && rows.length < total) {
      throw new DemoFailure(`cod-collections: ${rows.length} rows, ${total} said`);
    }
    for (const { id, amount, cod_amount, delivery_id } of cod.collections) {
      const job = jobs.get(delivery_id);
      if (!job) throw new DemoFailure(`cash of ${delivery_id}, which nobody carried`);
      rows.push({ id, amount, evening: job.evening });
      if (job.evening === "keep" && job.owner === "merchant") count.held.set(id, cod_amount);
    }
  }
  return rows;
}

const sum = (rows: Row[]) => rows.reduce((total, { amount }) => total + amount, 0);

async function remit(
  world: World,
  driver: Person,
  rows: Row[],
  count: Count,
  by: Person,
): Promise<void> {
  for (const part of parts(rows)) {
    const { data } = await done(by.barid.POST("/delivery/cod-collections/remit", {
      body: {
        scope: "selected",
        cod_collection_ids: part.map(({ id }) => id),
        driver_id: by === driver ? undefined : driver.id,
        remitted_to_user_id: world.dispatcher.id,
      },
    }));
    agrees(driver, data.total_cash_remitted, part);
    count.driver(driver.id).remitted += data.total_cash_remitted;
    count.numbers.settlements++;
  }
}

/** The driver paid in at the office what may now be kept in cash. */
async function byWallet(world: World, driver: Person, rows: Row[], count: Count): Promise<void> {
  if (!rows.length) return;
  const figures = count.driver(driver.id);
  const paidIn = Math.ceil(sum(rows) / 50_000) * 50_000;
  await fund(world, driver, paidIn);
  figures.wallet += paidIn;
  for (const part of parts(rows)) {
    const { data } = await done(driver.barid.POST("/delivery/cod-collections/settle-by-wallet", {
      body: { scope: "selected", cod_collection_ids: part.map(({ id }) => id) },
    }));
    agrees(driver, data.total_cash_settled, part);
    figures.byWallet += data.total_cash_settled;
    figures.wallet -= data.total_cash_settled;
    count.numbers.settlements++;
  }
}

/** A settlement takes so many rows at most. */
function* parts(rows: Row[]): Generator<Row[]> {
  for (let from = 0; from < rows.length; from += 1_000) yield rows.slice(from, from + 1_000);
}

function agrees(driver: Person, settled: number, rows: Row[]): void {
  if (settled === sum(rows)) return;
  throw new DemoFailure(`${driver.name}: ${settled} was settled, ${sum(rows)} handed in`);
}

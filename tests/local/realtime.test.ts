import { afterAll, beforeAll, expect, test } from "vitest";
import { signedIn, temporaryStack, until } from "./support.ts";

let rig: Awaited<ReturnType<typeof temporaryStack>>;
beforeAll(async () => {
  rig = await temporaryStack();
  await rig.stack.sql.unsafe(`
    create table public.notes (id bigint primary key, owner uuid not null, body text);
    alter table public.notes enable row level security;
    create policy own on public.notes for select to authenticated using (owner = auth.uid());
    grant select on public.notes to authenticated;
    alter publication supabase_realtime add table public.notes`);
});
afterAll(() => rig.close());

test("a client hears of its own rows and of nobody else's", async () => {
  const { app, session, user } = await signedIn(rig.stack, "listener@example.com");
  const heard: unknown[] = [];
  const ready = new Promise<void>((resolve, reject) => {
    app.realtime.setAuth(session!.access_token);
    app.channel("notes")
      .on("system", {}, (payload) => payload.status === "ok" && resolve())
      .on(
        "postgres_changes",
        { event: "*", schema: "public", table: "notes", filter: "id=lt.100" },
        (change) => {
          heard.push({
            [change.eventType]: change.eventType === "DELETE" ? change.old : change.new,
          });
        },
      )
      .subscribe((_status, error) => error && reject(error));
  });
  await ready;
  const { sql } = rig.stack;
  await sql`insert into public.notes values (1, gen_random_uuid(), 'not yours')`;
  await sql`insert into public.notes values (200, ${user!.id}, 'filtered out')`;
  await sql`insert into public.notes values (2, ${user!.id}, 'سڵاو')`;
  await sql`update public.notes set body = 'changed' where id = 2`;
  await until(() => heard.length >= 2);
  await sql`delete from public.notes where id = 2`;
  await until(() => heard.length >= 3);
  expect(heard).toMatchObject([
    { INSERT: { id: 2, owner: user!.id } },
    { UPDATE: { id: 2, body: "changed" } },
    { DELETE: { id: "2" } },
  ]);
  await app.removeAllChannels();
});

test("changes are read while somebody listens to them, and again for the next who does", async () => {
  const { app, session, user } = await signedIn(rig.stack, "again@example.com");
  const { sql } = rig.stack;
  const readers = async () => (await sql`select from pg_replication_slots`).length;
  await until(async () => await readers() === 0);
  app.realtime.setAuth(session!.access_token);
  for (const id of [301, 302]) {
    const heard: unknown[] = [];
    await new Promise<void>((resolve, reject) => {
      app.channel(`notes ${id}`)
        .on("system", {}, (payload) => payload.status === "ok" && resolve())
        .on(
          "postgres_changes",
          { event: "INSERT", schema: "public", table: "notes" },
          (change) => heard.push(change.new),
        )
        .subscribe((_status, error) => error && reject(error));
    });
    expect(await readers()).toBe(1);
    await sql`insert into public.notes values (${id}, ${user!.id}, 'again')`;
    await until(() => heard.length > 0);
    expect(heard).toMatchObject([{ id }]);
    await app.removeAllChannels();
    await until(async () => await readers() === 0);
  }
});

test("a broadcast reaches the others on the channel", async () => {
  const [one, two] = await Promise.all([
    signedIn(rig.stack, "b1@example.com"),
    signedIn(rig.stack, "b2@example.com"),
  ]);
  const heard: unknown[] = [];
  const joined = (app: typeof one.app) =>
    new Promise<ReturnType<typeof app.channel>>((resolve, reject) => {
      const channel = app.channel("room").on(
        "broadcast",
        { event: "ping" },
        ({ payload }) => heard.push(payload),
      );
      channel.subscribe((status, error) =>
        error ? reject(error) : status === "SUBSCRIBED" && resolve(channel)
      );
    });
  const channel = await joined(one.app);
  await joined(two.app);
  await channel.send({ type: "broadcast", event: "ping", payload: { from: "one" } });
  await until(() => heard.length > 0);
  expect(heard).toEqual([{ from: "one" }]);
  await Promise.all([one.app.removeAllChannels(), two.app.removeAllChannels()]);
});

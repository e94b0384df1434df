/** The office's board in a terminal: read once a second, with the positions that it hears meanwhile. */
import { done } from "./barid.ts";
import type { World } from "./people.ts";

const everyMs = 1_000;

export class LiveBoard {
  #heard = 0;
  #moved = new Set<string>();
  #reading: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  private constructor(
    private readonly world: World,
    private readonly out: NodeJS.WriteStream | undefined,
  ) {}

  /** Joins the board's channel and begins to draw; `quiet` draws nothing. */
  static async open(world: World, quiet: boolean): Promise<LiveBoard> {
    const board = new LiveBoard(world, quiet ? undefined : process.stderr);
    const { supabase } = world.dispatcher;
    await supabase.realtime.setAuth();
    await new Promise<void>((resolve, reject) => {
      supabase.channel(`tenant:${world.tenant}:board`, { config: { private: true } })
        .on("broadcast", { event: "driver.positions" }, ({ payload }) => {
          board.#heard++;
          for (const { driver_id } of payload.positions) board.#moved.add(driver_id);
        })
        .subscribe((status, error) => {
          if (status === "SUBSCRIBED") resolve();
          else if (error) reject(error);
        });
    });
    board.#timer = setInterval(() => board.#reading = board.#draw(), everyMs);
    return board;
  }

  /** The stops that this run's drivers have left, and how many messages with positions were heard. */
  async read(): Promise<{ stopsLeft: number; heard: number }> {
    const { data } = await done(this.world.dispatcher.barid.GET("/delivery/board"));
    const own = new Set(this.world.drivers.map(({ id }) => id));
    const stopsLeft = data.drivers.filter(({ id }) => own.has(id))
      .reduce((sum, { stops_left }) => sum + stops_left, 0);
    return { stopsLeft, heard: this.#heard };
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#reading;
    await this.world.dispatcher.supabase.removeAllChannels();
  }

  async #draw(): Promise<void> {
    if (!this.out) return;
    const { data } = await done(this.world.dispatcher.barid.GET("/delivery/board"));
    const own = new Set(this.world.drivers.map(({ id }) => id));
    const drivers = data.drivers.filter(({ id }) => own.has(id));
    const left = drivers.reduce((sum, { stops_left }) => sum + stops_left, 0);
    const counts = [
      `on duty ${drivers.filter(({ on_duty }) => on_duty).length}`,
      `moving ${this.#moved.size}`,
      `stops left ${left}`,
      `unassigned ${data.unassigned.total}`,
      `late ${data.late.total}`,
    ].join("   ");
    this.#moved.clear();
    if (!this.out.isTTY) {
      this.out.write(`${data.as_of.slice(11, 19)}   ${counts}\n`);
      return;
    }
    const lines = drivers.slice(0, this.out.rows - 4).map((driver) => {
      const { latitude, longitude } = driver.last_position ?? {};
      const at = latitude === undefined ? "" : `${latitude.toFixed(4)}, ${longitude!.toFixed(4)}`;
      const next = driver.next_stop
        ? `${driver.next_stop.place.kind} of ${driver.next_stop.delivery_code}`
        : "";
      return `${driver.full_name.padEnd(18)} ${
        "▪".repeat(Math.min(driver.stops_left, 20)).padEnd(20)
      } ${at.padEnd(18)} ${next}`;
    });
    this.out.write(`\x1b[H\x1b[2J${counts}\n\n${lines.join("\n")}\n`);
  }
}

/** The clock that the functions and the database are started with: another than the machine's where BARID_TEST_CLOCK says so. */
export const clock: Record<string, string> = JSON.parse(process.env.BARID_TEST_CLOCK ?? "{}");

/** False under such a clock: libfaketime shows the machine's time to what a signal interrupts, and PostgreSQL then puts its time-outs off. */
export const timeOutsFire = Object.keys(clock).length === 0;

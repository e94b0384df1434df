-- The column of an index that is built in the next file, before the one that it replaces goes.
set lock_timeout = '1s';
set statement_timeout = '1min';

ALTER TABLE "delivery"."deliveries" ADD COLUMN "returns_part" boolean NOT NULL DEFAULT false;

-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
set lock_timeout = '1min';
set statement_timeout = 0;

ALTER TABLE "delivery"."deliveries" VALIDATE CONSTRAINT "deliver_window_in_order";

ALTER TABLE "delivery"."delivery_status_history" VALIDATE CONSTRAINT "delivery_status_history_distance_m_check";

ALTER TABLE "delivery"."delivery_status_history" VALIDATE CONSTRAINT "delivery_status_history_latitude_check";

ALTER TABLE "delivery"."delivery_status_history" VALIDATE CONSTRAINT "delivery_status_history_longitude_check";

ALTER TABLE "delivery"."delivery_status_history" VALIDATE CONSTRAINT "reported_place_whole";

ALTER TABLE "delivery"."drivers" VALIDATE CONSTRAINT "drivers_live_stops_check";

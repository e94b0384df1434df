-- The run of the sender that waits for the next due event. Unlogged: after a crash no run is left.
create unlogged table if not exists integration.sender_watch (
  is_only boolean primary key default true check (is_only),
  watcher uuid not null
);

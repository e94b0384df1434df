-- The counts of all function processes, added up. Counters and parts of histograms, each under its name and labels as OpenMetrics
-- writes them. Unlogged: after a crash counters begin at zero, as scrapers expect.
create unlogged table if not exists integration.metric_counts (
  series text primary key,
  value double precision not null
);

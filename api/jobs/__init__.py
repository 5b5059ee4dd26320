"""Large uploads are jobs: kept on disk, worked on one after the other, seen, cancelled, resumed after a restart."""

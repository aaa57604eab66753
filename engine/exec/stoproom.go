package exec

import "sync"

// stopRooms is the memory of walks over edges before: what a step finds is looked at by the next step alone, and a short
// walk would spend more on new memory than on the edges.
type stopRooms struct{ pool sync.Pool }

// stopRoom is where a walk stands and where it goes, in turns.
type stopRoom struct {
	stops [2][]stop
	at    int
}

// mostLevel is how many stops of memory are kept.
const mostLevel = 4096

func (p *stopRooms) take() *stopRoom {
	if room, ok := p.pool.Get().(*stopRoom); ok {
		return room
	}
	return &stopRoom{}
}

// give takes back what take gave. The stops that it held are used no more.
func (p *stopRooms) give(room *stopRoom) {
	for i, stops := range room.stops {
		if cap(stops) > mostLevel {
			room.stops[i] = nil
			continue
		}
		clear(stops)
	}
	p.pool.Put(room)
}

// next is empty memory beside that of the present level.
func (room *stopRoom) next() []stop {
	room.at = 1 - room.at
	return room.stops[room.at][:0]
}

// keep makes stops, in the memory of next or in more of it, the present level.
func (room *stopRoom) keep(stops []stop) {
	if old := room.stops[room.at]; len(old) > len(stops) {
		clear(old[len(stops):])
	}
	room.stops[room.at] = stops
}

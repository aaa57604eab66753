package record

import "sync"

// StopRooms keeps the memory of walks over edges for the next ones: what a step finds is looked at by the next step
// alone, and a short walk would spend more on new memory than on the edges. The zero StopRooms is ready.
type StopRooms struct{ pool sync.Pool }

// StopRoom is memory for where a walk stands and where it goes, in turns. It belongs to one goroutine.
type StopRoom struct {
	stops [2][]Stop
	at    int
}

// Take gives the memory of one walk. Give follows, once nothing of it is used any more.
func (p *StopRooms) Take() *StopRoom {
	if room, ok := p.pool.Get().(*StopRoom); ok {
		return room
	}
	return &StopRoom{}
}

// Give takes back what Take gave.
func (p *StopRooms) Give(room *StopRoom) {
	for i, stops := range room.stops {
		if cap(stops) > mostReserved {
			room.stops[i] = nil
			continue
		}
		clear(stops)
	}
	p.pool.Put(room)
}

// Next is empty memory beside that of the present level.
func (room *StopRoom) Next() []Stop {
	room.at = 1 - room.at
	return room.stops[room.at][:0]
}

// Keep makes stops, in the memory of Next or in more of it, the present level.
func (room *StopRoom) Keep(stops []Stop) {
	if old := room.stops[room.at]; len(old) > len(stops) {
		clear(old[len(stops):])
	}
	room.stops[room.at] = stops
}

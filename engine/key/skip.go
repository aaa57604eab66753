package key

import "bytes"

// skipRecordKey gives what follows the record key at the front of k.
func skipRecordKey(k []byte) ([]byte, error) {
	if len(k) == 0 {
		return nil, ErrMalformed
	}
	tag, k := k[0], k[1:]
	switch tag {
	case keyString:
		return skipText(k)
	case keyUUID:
		return skipBytes(k, 16)
	case keyArray:
		return exact.skipList(k, maxDepth)
	case keyObject:
		return exact.skipObject(k, maxDepth)
	case keyRange:
		return skipBounds(k, skipRecordKey)
	}
	n := int(tag) - keyInt
	if n < 0 {
		n = -n
	}
	if n > 8 {
		return nil, ErrMalformed
	}
	return skipBytes(k, n)
}

// skip gives what follows the value at the front of k.
func (f form) skip(k []byte, depth int) ([]byte, error) {
	if len(k) == 0 || depth == 0 {
		return nil, ErrMalformed
	}
	tag, k := k[0], k[1:]
	switch tag {
	case tagNone, tagNull, tagFalse, tagTrue:
		return k, nil
	case tagNumber:
		return f.skipNumber(k)
	case tagString, tagBytes, tagTable, tagRegex, tagClosure:
		return skipText(k)
	case tagDuration, tagDatetime:
		return skipBytes(k, 12)
	case tagUUID:
		return skipBytes(k, 16)
	case tagArray, tagSet:
		return f.skipList(k, depth-1)
	case tagObject:
		return f.skipObject(k, depth-1)
	case tagGeometry:
		_, k, err := reader{depth}.geometry(k)
		return k, err
	case tagRecord, tagFile:
		k, err := skipText(k)
		if err != nil {
			return nil, err
		}
		if tag == tagFile {
			return skipText(k)
		}
		return skipRecordKey(k)
	case tagRange:
		return skipBounds(k, func(k []byte) ([]byte, error) { return f.skip(k, depth-1) })
	default:
		return nil, ErrMalformed
	}
}

func (f form) skipNumber(k []byte) ([]byte, error) {
	if len(k) < 9 {
		return nil, ErrMalformed
	}
	n := int(k[8])
	if k[0]&0x80 == 0 {
		n = int(^k[8])
	}
	if f == exact {
		n++
	}
	return skipBytes(k[9:], n)
}

func (f form) skipList(k []byte, depth int) ([]byte, error) {
	for len(k) > 0 {
		if k[0] == listEnd {
			return k[1:], nil
		}
		var err error
		if k, err = f.skip(k, depth); err != nil {
			return nil, err
		}
	}
	return nil, ErrMalformed
}

func (f form) skipObject(k []byte, depth int) ([]byte, error) {
	for len(k) > 0 {
		if k[0] == listEnd {
			return k[1:], nil
		}
		rest, err := skipText(k[1:])
		if err != nil {
			return nil, err
		}
		if k, err = f.skip(rest, depth); err != nil {
			return nil, err
		}
	}
	return nil, ErrMalformed
}

func skipBounds(k []byte, skip func([]byte) ([]byte, error)) ([]byte, error) {
	for range 2 {
		if len(k) == 0 {
			return nil, ErrMalformed
		}
		open := k[0] == boundNone
		k = k[1:]
		if open {
			continue
		}
		var err error
		if k, err = skip(k); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func skipBytes(k []byte, n int) ([]byte, error) {
	if len(k) < n {
		return nil, ErrMalformed
	}
	return k[n:], nil
}

// skipText skips escaped text: the first 0x00 that is not followed by 0xff starts its end.
func skipText(k []byte) ([]byte, error) {
	for {
		i := bytes.IndexByte(k, 0)
		if i < 0 || i+1 == len(k) {
			return nil, ErrMalformed
		}
		escaped := k[i+1] == 0xff
		if k = k[i+2:]; !escaped {
			return k, nil
		}
	}
}

package ml

// matrix is a matrix in a list: element (i, j) is at i*rows + j*cols.
type matrix[T real] struct {
	data       []T
	rows, cols int // steps from one row, and from one column, to the next
}

// Blocks of the product: depth and width of the part of the second matrix that is laid out anew, about what the second
// level of a cache holds.
const (
	blockDepth = 256
	blockWidth = 256
)

// packs are the two blocks that a product lays out anew. A run keeps them.
type packs struct {
	a32, b32 []float32
	a64, b64 []float64
}

func (p *packs) of32(a, b int) ([]float32, []float32) {
	if len(p.a32) < a {
		p.a32 = make([]float32, a)
	}
	if len(p.b32) < b {
		p.b32 = make([]float32, b)
	}
	return p.a32, p.b32
}

func (p *packs) of64(a, b int) ([]float64, []float64) {
	if len(p.a64) < a {
		p.a64 = make([]float64, a)
	}
	if len(p.b64) < b {
		p.b64 = make([]float64, b)
	}
	return p.a64, p.b64
}

// gemm adds the product of a (m×k) and b (k×n) to c (m×n, rows next to each other).
//
// Each element of c is summed in the order of k with one sum, for all m and n: a row has the same bits alone and
// among others. The layout changes for speed only. The conversions of the products round them before they are added:
// compilers may not make one step of both.
func gemm[T real](r *run, c []T, m, n, k int, a, b matrix[T]) error {
	if m == 0 || n == 0 || k == 0 {
		return nil
	}
	if m < 4 {
		for i := range m {
			if err := rowTimes(r, c[i*n:i*n+n], k, a.data[i*a.rows:], a.cols, b); err != nil {
				return err
			}
		}
		return nil
	}
	var packA, packB []T
	depth, width := min(k, blockDepth), min((n+3)&^3, blockWidth)
	switch any(c).(type) {
	case []float32:
		pa, pb := r.packs.of32(2*depth, depth*width)
		packA, packB = any(pa).([]T), any(pb).([]T)
	default:
		pa, pb := r.packs.of64(2*depth, depth*width)
		packA, packB = any(pa).([]T), any(pb).([]T)
	}
	for j0 := 0; j0 < n; j0 += blockWidth {
		nn := min(n-j0, blockWidth)
		for p0 := 0; p0 < k; p0 += blockDepth {
			kk := min(k-p0, blockDepth)
			packColumns(packB, b, p0, j0, kk, nn)
			for i := 0; i < m; i += 2 {
				if err := r.tick(2 * kk * nn / 8); err != nil {
					return err
				}
				second := i + 1
				if second == m {
					second = i // the last row twice; its second result is not stored
				}
				packRows(packA[:2*kk], a, i, second, p0, kk)
				rowPair(c, i*n+j0, second*n+j0, nn, packA[:2*kk], packB)
			}
		}
	}
	return nil
}

// packColumns lays out a block of b in groups of four columns: for each k the four values next to each other.
func packColumns[T real](to []T, b matrix[T], p0, j0, kk, nn int) {
	at := 0
	for j := 0; j < nn; j += 4 {
		w := min(nn-j, 4)
		base := p0*b.rows + (j0+j)*b.cols
		for range kk {
			d := to[at : at+4 : at+4]
			if w == 4 {
				d[0], d[1], d[2], d[3] = b.data[base], b.data[base+b.cols], b.data[base+2*b.cols], b.data[base+3*b.cols]
			} else {
				for x := range d {
					d[x] = 0
					if x < w {
						d[x] = b.data[base+x*b.cols]
					}
				}
			}
			at += 4
			base += b.rows
		}
	}
}

// packRows lays out two rows of a: for each k the two values next to each other.
func packRows[T real](to []T, a matrix[T], i, second, p0, kk int) {
	x, y := i*a.rows+p0*a.cols, second*a.rows+p0*a.cols
	if a.cols == 1 {
		u, v := a.data[x:x+kk], a.data[y:y+kk]
		for len(u) > 0 && len(v) > 0 && len(to) >= 2 {
			to[0], to[1] = u[0], v[0]
			u, v, to = u[1:], v[1:], to[2:]
		}
		return
	}
	for p := range kk {
		to[2*p], to[2*p+1] = a.data[x], a.data[y]
		x += a.cols
		y += a.cols
	}
}

// rowPair adds two rows of the product to c, from two packed rows and packed columns.
func rowPair[T real](c []T, first, second, nn int, a, b []T) {
	depth := len(a) / 2
	var left [8]T
	j := 0
	if x, ok := any(c).([]float32); ok && hasTile8 {
		j = rowPair32(x, first, second, nn, any(a).([]float32), any(b).([]float32))
	}
	for ; j < nn; j += 4 {
		panel := b[j*depth : (j+4)*depth]
		if nn-j >= 4 {
			tile(c[first+j:first+j+4], c[second+j:second+j+4], a, panel, first == second)
			continue
		}
		w := nn - j
		copy(left[:4], c[first+j:first+nn])
		copy(left[4:], c[second+j:second+nn])
		tile(left[:4], left[4:], a, panel, false)
		copy(c[first+j:first+nn], left[:w])
		if first != second {
			copy(c[second+j:second+nn], left[4:4+w])
		}
	}
}

// rowPair32 is rowPair for groups of eight columns, as far as there are such groups. It gives the next column.
func rowPair32(c []float32, first, second, nn int, a, b []float32) int {
	depth, j := len(a)/2, 0
	var unused [8]float32
	for ; j+8 <= nn; j += 8 {
		panels, c0, c1 := b[j*depth:(j+8)*depth], c[first+j:first+j+8], unused[:]
		if second != first {
			c1 = c[second+j : second+j+8]
		}
		tile8(&c0[0], &c1[0], &a[0], &panels[0], &panels[4*depth], depth)
	}
	return j
}

// tile adds a product of two rows and four columns to c0 and c1. With one it stores only c0.
func tile[T real](c0, c1, a, b []T, one bool) {
	x, y := (*[4]T)(c0), (*[4]T)(c1)
	x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
	y0, y1, y2, y3 := y[0], y[1], y[2], y[3]
	for len(a) >= 4 && len(b) >= 8 {
		u, v := a[0], a[1]
		b0, b1, b2, b3 := b[0], b[1], b[2], b[3]
		x0 += T(u * b0)
		x1 += T(u * b1)
		x2 += T(u * b2)
		x3 += T(u * b3)
		y0 += T(v * b0)
		y1 += T(v * b1)
		y2 += T(v * b2)
		y3 += T(v * b3)
		u, v = a[2], a[3]
		b0, b1, b2, b3 = b[4], b[5], b[6], b[7]
		x0 += T(u * b0)
		x1 += T(u * b1)
		x2 += T(u * b2)
		x3 += T(u * b3)
		y0 += T(v * b0)
		y1 += T(v * b1)
		y2 += T(v * b2)
		y3 += T(v * b3)
		a, b = a[4:], b[8:]
	}
	if len(a) >= 2 && len(b) >= 4 {
		u, v := a[0], a[1]
		b0, b1, b2, b3 := b[0], b[1], b[2], b[3]
		x0 += T(u * b0)
		x1 += T(u * b1)
		x2 += T(u * b2)
		x3 += T(u * b3)
		y0 += T(v * b0)
		y1 += T(v * b1)
		y2 += T(v * b2)
		y3 += T(v * b3)
	}
	x[0], x[1], x[2], x[3] = x0, x1, x2, x3
	if !one {
		y[0], y[1], y[2], y[3] = y0, y1, y2, y3
	}
}

// rowTimes adds the product of one row a (steps apart) and b to c.
func rowTimes[T real](r *run, c []T, k int, a []T, step int, b matrix[T]) error {
	n := len(c)
	if b.cols == 1 {
		for p := range k {
			u := a[p*step]
			row := b.data[p*b.rows : p*b.rows+n]
			for j := range c {
				c[j] += T(u * row[j])
			}
			if err := r.tick(n / 4); err != nil {
				return err
			}
		}
		return nil
	}
	j := 0
	for ; j+4 <= n; j += 4 {
		x0, x1, x2, x3 := c[j], c[j+1], c[j+2], c[j+3]
		at := j * b.cols
		for p := range k {
			u := a[p*step]
			x0 += T(u * b.data[at])
			x1 += T(u * b.data[at+b.cols])
			x2 += T(u * b.data[at+2*b.cols])
			x3 += T(u * b.data[at+3*b.cols])
			at += b.rows
		}
		c[j], c[j+1], c[j+2], c[j+3] = x0, x1, x2, x3
		if err := r.tick(k); err != nil {
			return err
		}
	}
	for ; j < n; j++ {
		x, at := c[j], j*b.cols
		for p := range k {
			x += T(a[p*step] * b.data[at])
			at += b.rows
		}
		c[j] = x
	}
	return r.tick(k)
}
